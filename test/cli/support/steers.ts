/** What steers a terminal or turns the direction of text: nothing that is shown may have it, but tabs and line feeds. */
export const STEERS = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
