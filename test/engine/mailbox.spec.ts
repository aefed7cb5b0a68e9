import { describe, expect, it } from 'vitest'
import type { MailboxOwner } from '../../src/engine/mailbox.ts'
import { Mailbox } from '../../src/engine/mailbox.ts'
import type { EventDraft, Recorded } from '../../src/machines/agent/events.ts'

const kill = (by: string): EventDraft => ({ type: 'kill.requested', by })

/** An owner that takes everything and writes down what is asked of it. */
function recordingOwner(overrides: Partial<MailboxOwner> = {}) {
  const story: string[] = []
  const name = (draft: EventDraft) => ('by' in draft ? String(draft.by) : draft.type)
  const owner: MailboxOwner = {
    stage: (draft) => {
      story.push(`stage ${name(draft)}`)
      // The double stands for a recorded event: only its identity and its name matter to a mailbox.
      const recorded = { seq: 0, at: 0, event: draft, lines: [] } as unknown as Recorded
      return { recorded, text: `${name(draft)}\n` }
    },
    unstage: () => story.push('unstage'),
    append: (text) => {
      story.push(`append ${text.trim().replaceAll('\n', '+')}`)
    },
    apply: ({ event }) => story.push(`apply ${'by' in event ? event.by : event.type}`),
    halt: (error) => story.push(`halt ${error instanceof Error ? error.message : error}`),
    late: (draft) => story.push(`late ${name(draft)}`),
    ...overrides,
  }
  return { owner, story }
}

function deferred() {
  let resolve = () => {}
  let reject = (_: Error) => {}
  const promise = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

describe('mailbox', () => {
  it('applies an event only after it has been appended', async () => {
    const { owner, story } = recordingOwner()
    expect(await new Mailbox(owner).post(kill('a'))).toBe('taken')
    expect(story).toEqual(['stage a', 'append a', 'apply a'])
  })

  it('takes nothing of a chain behind what is late, and the rest of other posts', async () => {
    const late = recordingOwner().owner
    const { owner, story } = recordingOwner({
      stage: (draft) => ('by' in draft && draft.by === 'b' ? 'late' : late.stage(draft)),
    })
    const mailbox = new Mailbox(owner)
    expect(await mailbox.postChain(kill('a'), kill('b'), kill('c'), kill('d'))).toBe('late')
    expect(await mailbox.post(kill('b'), kill('c'))).toBe('taken')
    expect(story).toEqual([
      'late b',
      'late c',
      'late d',
      'append a',
      'apply a',
      'late b',
      'append c',
      'apply c',
    ])
  })

  it('applies nothing while the append is under way', async () => {
    const disk = deferred()
    const { owner, story } = recordingOwner({ append: () => disk.promise })
    const posted = new Mailbox(owner).post(kill('a'))
    await Promise.resolve()
    expect(story).toEqual(['stage a'])
    disk.resolve()
    await posted
    expect(story).toEqual(['stage a', 'apply a'])
  })

  it('has one batch in flight and appends what came meanwhile as one batch', async () => {
    const disks = [deferred(), deferred()]
    let round = 0
    const { owner, story } = recordingOwner({
      append: (text) => {
        story.push(`append ${text.trim().replaceAll('\n', '+')}`)
        return disks[round++]?.promise
      },
    })
    const mailbox = new Mailbox(owner)
    const all = [mailbox.post(kill('a')), mailbox.post(kill('b')), mailbox.post(kill('c'))]
    expect(story).toEqual(['stage a', 'append a'])
    disks[0]?.resolve()
    await all[0]
    disks[1]?.resolve()
    await Promise.all(all)
    expect(story).toEqual([
      'stage a',
      'append a',
      'apply a',
      'stage b',
      'stage c',
      'append b+c',
      'apply b',
      'apply c',
    ])
  })

  it('does not write an event that the agent does not take, and says that it was late', async () => {
    const { owner, story } = recordingOwner({ stage: () => 'late' })
    expect(await new Mailbox(owner).post(kill('a'))).toBe('late')
    expect(story).toEqual(['late a'])
  })

  it('takes an event that is posted while another is applied, after it', async () => {
    const { owner, story } = recordingOwner()
    const mailbox = new Mailbox({
      ...owner,
      apply: (recorded) => {
        owner.apply(recorded)
        if (story.length < 4) void mailbox.post(kill('b'))
      },
    })
    await mailbox.post(kill('a'))
    expect(story).toEqual(['stage a', 'append a', 'apply a', 'stage b', 'append b', 'apply b'])
  })

  it.each([
    [
      'at once',
      () => {
        throw new Error('disk full')
      },
    ],
    ['later', () => Promise.reject(new Error('disk full'))],
  ])('applies nothing of a batch that cannot be appended (%s), and halts', async (_, append) => {
    const { owner, story } = recordingOwner({ append })
    const mailbox = new Mailbox(owner)
    await expect(mailbox.post(kill('a'))).rejects.toThrow('disk full')
    expect(story).toEqual(['stage a', 'unstage', 'halt disk full'])
    await expect(mailbox.post(kill('b'))).rejects.toThrow('disk full')
    expect(story).not.toContain('stage b')
  })

  it('halts when an event cannot even be staged', async () => {
    const { owner, story } = recordingOwner({
      stage: () => {
        throw new Error('poison')
      },
    })
    await expect(new Mailbox(owner).post(kill('a'))).rejects.toThrow('poison')
    expect(story).toEqual(['unstage', 'halt poison'])
  })

  it('takes nothing behind the events that close it, even if they wait in the same batch', async () => {
    const disk = deferred()
    const { owner, story } = recordingOwner({ append: () => disk.promise })
    const mailbox = new Mailbox(owner)
    const posts = [mailbox.post(kill('a')), mailbox.closeWith(() => [kill('b')]), mailbox.post(kill('c'))]
    disk.resolve()
    expect(await Promise.all(posts)).toEqual(['taken', 'taken', 'late'])
    expect(story).toEqual(['stage a', 'apply a', 'stage b', 'late c', 'apply b'])
  })
})
