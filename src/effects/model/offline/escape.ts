/** The text as a regular expression that matches it and nothing else, in JavaScript and in ripgrep. */
export const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
