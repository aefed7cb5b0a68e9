/** `troupe sessions`: the sessions of this directory, the latest first. */
import { coloursFor } from './colours.ts'
import { EXIT } from './errors.ts'
import { counted, dateAndTime, forTerminal, oneLine, toJson } from './format.ts'
import { type Host, homeOf } from './host.ts'

/** Writes one line per session, or one JSON object with `json`. Resolves with the exit code. */
export async function sessionsCommand({ json }: { readonly json: boolean }, host: Host): Promise<number> {
  const sessions = await (await host.sessions(homeOf(host))).list()
  if (sessions.length === 0)
    host.stderr.write(forTerminal(`troupe: there is no session of ${host.cwd} yet\n`))
  const colours = coloursFor(host.stdout, host.env)
  for (const { sessionId, startedAt, lastAt, firstPrompt, agents, unreadable } of sessions) {
    if (json) {
      const line = {
        session_id: sessionId,
        started_at: new Date(startedAt).toISOString(),
        last_at: new Date(lastAt).toISOString(),
        ...(firstPrompt !== undefined && { first_prompt: firstPrompt }),
        agents,
        ...(unreadable !== undefined && { unreadable }),
      }
      host.stdout.write(`${toJson(line)}\n`)
      continue
    }
    const facts = `${dateAndTime(startedAt)}  ${counted(agents, 'agent').padEnd(9)}`
    // Whole ids where a program reads, short ones where a person does.
    const id = host.stdout.isTTY ? sessionId.slice(0, 8) : sessionId
    const prompt = oneLine(
      unreadable === undefined ? (firstPrompt ?? '') : `cannot be read: ${unreadable}`,
      Math.max(20, (host.stdout.columns ?? 160) - facts.length - id.length - 4),
    )
    host.stdout.write(`${colours.bold(id)}  ${colours.dim(facts)}  ${prompt}\n`)
  }
  return EXIT.success
}
