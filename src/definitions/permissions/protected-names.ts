/**
 * Files and folders that can widen what anybody may do here: git's hooks and settings, agents' settings and servers, our
 * own records. Editing them is never implied. Compare in lower case: some file systems do.
 */
export const PROTECTED_NAMES: ReadonlySet<string> = new Set(['.git', '.claude', '.mcp.json', '.troupe'])
