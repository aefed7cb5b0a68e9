/** What is said of MCP servers that could not be honoured as they are. */

/** The kinds of problems. */
export type McpDiagnosticCode =
  /** A file of servers is no JSON object. */
  | 'mcp-file-unreadable'
  /** An entry describes no server. */
  | 'mcp-server-unreadable'
  /** A name that cannot be part of a tool's name was changed. */
  | 'mcp-server-renamed'
  /** Two servers, or two tools of one, have one name. */
  | 'mcp-name-taken'
  /** `${NAME}` has no value and no default. */
  | 'mcp-variable-missing'
  /** A key that means nothing here. */
  | 'mcp-key-unknown'
  /** A server could not be started, or was lost. */
  | 'mcp-server-failed'
  /** A changed list of tools could not be read: the one before is in force. */
  | 'mcp-list-failed'
  /** A server lists more tools than are taken. */
  | 'mcp-tools-cut'
  /** A tool was left out: a model could not be told of it. */
  | 'mcp-tool-unreadable'
  /** The schema of a tool's input is not wholly in force. */
  | 'mcp-tool-schema'

/** Something about a running server that people should know. */
export interface McpDiagnostic {
  /** `error`: what was asked for is not in force. `warning`: it is, but perhaps not as it was meant. */
  readonly severity: 'error' | 'warning'
  readonly code: McpDiagnosticCode
  /** What happened, to which server, and what to do. */
  readonly message: string
  /** Name of the server. */
  readonly server: string
}
