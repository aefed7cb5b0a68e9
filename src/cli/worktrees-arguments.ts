/** The part of the command line that is about worktrees: `troupe worktrees …`. */
import type { Command } from 'commander'
import { didYouMean } from '../definitions/closest-name.ts'
import { UsageError } from './errors.ts'

/** What `troupe worktrees` was asked. */
export type WorktreesArguments =
  | { readonly action: 'list'; readonly json: boolean }
  | { readonly action: 'diff' | 'merge'; readonly name: string }
  /** `merged`: also those whose commits another branch has. */
  | { readonly action: 'prune'; readonly merged: boolean }

/** Adds the command. */
export function addWorktreesCommand(program: Command, done: (parsed: WorktreesArguments) => void): void {
  const worktrees = program
    .command('worktrees')
    .description('the worktrees that agents have left here')
    .helpCommand(false)
  const add = (usage: string, description: string, isDefault = false): Command =>
    worktrees
      .command(usage, { isDefault })
      .description(description)
      .option('--debug', 'errors with their stacks')
  add('list', 'list them, with what is in them', true)
    .option('--json', 'one JSON object per line')
    .allowExcessArguments()
    .action((options: { readonly json?: boolean }, { args: [word] }: Command) => {
      if (word !== undefined) throw new UsageError(noCommand(word))
      done({ action: 'list', json: options.json ?? false })
    })
  add('diff', 'what was changed in one since it was made, committed or not, as a patch')
    .argument('<name>', 'its name, branch or path')
    .action((name: string) => done({ action: 'diff', name }))
  add('merge', 'merge the branch of one into what is checked out here')
    .argument('<name>', 'its name, branch or path')
    .action((name: string) => done({ action: 'merge', name }))
  add('prune', 'remove those that nobody works in and in which nothing was changed')
    .option('--merged', 'also those whose commits another branch has')
    .action((options: { readonly merged?: boolean }) =>
      done({ action: 'prune', merged: options.merged ?? false }),
    )
}

const noCommand = (word: string): string =>
  `"${word}" is no command of troupe worktrees.${didYouMean(word, ['list', 'diff', 'merge', 'prune'])} See troupe worktrees --help`
