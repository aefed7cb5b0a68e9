/** The tool `Skill`: reads the instructions for one kind of work into the conversation. */
import * as z from 'zod'
import { renderSkill } from '../../definitions/context/render-skill.ts'
import { resolveSkill, type SkillResolution } from '../../definitions/context/resolve-skill.ts'
import type { Skill } from '../../definitions/context/skill.ts'
import { failure } from './refusals.ts'
import type { Tool } from './tool.ts'

const SkillInput = z.strictObject({
  skill: z.string().min(1).describe('The name of a skill, as the list of available skills has it'),
  args: z.string().optional().describe('What the skill is to work on, where it takes arguments'),
})
/** The input of `Skill`. */
export type SkillInput = z.infer<typeof SkillInput>

/**
 * `getSkills` is asked at each call for the skills of that moment, so a change of files needs no new tool; the
 * description stays the same bytes. The list of skills is `skillListing`'s and travels in the conversation.
 */
export function skillTool(getSkills: () => readonly Skill[]): Tool<SkillInput> {
  return {
    name: 'Skill',
    description: `Loads a skill: instructions for a kind of work, often with scripts and reference files beside them. They come back as the result of this call.

- The skills that there are stand in the list of available skills; only those can be loaded.
- When a skill fits the task, load it before you begin, not after the work has taken another direction.
- Follow the instructions as far as they serve the task. Relative paths in them start at the skill's base directory; read such files when the instructions send you there.
- A skill whose <loaded-skill> is in the conversation already need not be loaded again.`,
    inputSchema: SkillInput,
    resume: 'repeat',
    isReadOnly: () => true,
    isConcurrencySafe: () => true,
    // Rules speak of full names; a short one must not slip past them.
    ruleSubject: ({ skill }) => {
      const resolution = choose(skill, getSkills())
      return resolution.kind === 'found' ? resolution.skill.name : skill
    },
    run: async ({ skill: name, args }) => {
      const resolution = choose(name, getSkills())
      if (resolution.kind !== 'found') return failure(resolution.message)
      if (resolution.skill.disableModelInvocation) {
        return failure(
          `The skill ${resolution.skill.name} is for people only: its file closes it to models. Ask the user to load it, or go on without.`,
        )
      }
      const { skill } = resolution
      return {
        content: renderSkill(skill, args),
        structured: {
          success: true,
          commandName: skill.name,
          ...(skill.allowedTools !== undefined && { allowedTools: [...skill.allowedTools] }),
          ...(skill.model !== undefined && { model: skill.model }),
        },
      }
    },
  }
}

/** The skill that a name means. Those that are closed to models count only where they are meant beyond doubt. */
function choose(name: string, skills: readonly Skill[]): SkillResolution {
  const resolution = resolveSkill(name, skills)
  if (resolution.kind === 'found') return resolution
  return resolveSkill(
    name,
    skills.filter((skill) => !skill.disableModelInvocation),
  )
}
