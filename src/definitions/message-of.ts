/** The text of anything that was thrown. Pure. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
