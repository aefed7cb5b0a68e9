/** `troupe worktrees list|diff|merge|prune`: what agents have left in worktrees, and how a person takes it over. */
import type { ListedWorktree } from '../effects/worktrees/worktrees.ts'
import { EXIT } from './errors.ts'
import { oneLine } from './format.ts'
import type { Host } from './host.ts'
import type { WorktreesArguments } from './worktrees-arguments.ts'

/** Writes the answer to standard output. Resolves with the exit code. */
export async function worktreesCommand(args: WorktreesArguments, host: Host): Promise<number> {
  const worktrees = await host.worktrees()
  switch (args.action) {
    case 'list': {
      const listed = await worktrees.list(host.cwd)
      for (const each of listed) host.stdout.write(args.json ? `${JSON.stringify(each)}\n` : textOf(each))
      if (listed.length === 0 && !args.json)
        host.stderr.write('No agent has left a worktree in this repository.\n')
      return EXIT.success
    }
    case 'diff':
      host.stdout.write(await worktrees.diff(host.cwd, args.name))
      return EXIT.success
    case 'merge':
      host.stdout.write(`${await worktrees.merge(host.cwd, args.name)}\n`)
      return EXIT.success
    case 'prune': {
      const { removed, kept, problems } = await worktrees.sweep(host.cwd, { merged: args.merged })
      for (const name of removed) host.stdout.write(`removed ${name}\n`)
      for (const { name, reasons } of kept)
        host.stdout.write(`kept    ${name}: ${oneLine(reasons.join('; '), 400)}\n`)
      for (const problem of problems) host.stderr.write(`troupe: ${problem}\n`)
      return problems.length > 0 ? EXIT.failure : EXIT.success
    }
  }
}

function textOf({ name, branch, path, owner, decision }: ListedWorktree): string {
  const who = owner === 'alive' ? 'in use' : owner === 'dead' ? 'left' : 'of another machine'
  return `${name}  ${who}, branch ${branch}\n  ${path}\n  ${oneLine(decision.reasons.join('; '), 400)}\n`
}
