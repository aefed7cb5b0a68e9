/**
 * Which variables a command line may set without changing what its commands are or do elsewhere. A list of what is
 * harmless, not of what is dangerous: any program may have its own `LD_PRELOAD`.
 */

/** May stand before a command: they change how a program prints, how chatty it is, which variant it builds. */
const HARMLESS_TO_PROGRAMS: ReadonlySet<string> = new Set(
  [
    'CI COLUMNS CLICOLOR CLICOLOR_FORCE DEBUG FORCE_COLOR NO_COLOR LINES VERBOSE LOG_LEVEL TZ TERM LANG LANGUAGE',
    'NODE_ENV RAILS_ENV RACK_ENV APP_ENV MIX_ENV DJANGO_DEBUG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE',
    'RUST_BACKTRACE RUST_LOG GOOS GOARCH CGO_ENABLED CARGO_TERM_COLOR DO_NOT_TRACK GREP_COLORS LS_COLORS PORT',
    // The shell's own word splitting. Words that are written out are not split, and others count as unknown.
    'IFS',
  ].flatMap((line) => line.split(' ')),
)

/** Variables in lower case that shells or programs heed all the same. */
const HEEDED = /^(?:[a-z]+_proxy|[a-z]*npm_.*|.*_config_.*|auto_resume|histchars)$/u

/** May `NAME=value` stand before a command that gets it in its environment? */
export function isHarmlessToPrograms(name: string): boolean {
  return HARMLESS_TO_PROGRAMS.has(name) || /^LC_[A-Z]+$/u.test(name)
}

/** May the shell's own variable be set? By custom those in lower case are not in the environment. */
export function isHarmlessInShell(name: string): boolean {
  return isHarmlessToPrograms(name) || (/^(?:[a-z_][a-z0-9_]*|[A-Z])$/u.test(name) && !HEEDED.test(name))
}
