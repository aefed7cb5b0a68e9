/** A skill: instructions for one kind of work that are read only when that work comes up. */

/** Where a skill comes from, which decides precedence. */
export type SkillSource = 'userSettings' | 'projectSettings' | 'plugin'

/** A skill as read from its `SKILL.md`. */
export interface Skill {
  /** What it is called by; `plugin:name` when a plugin brings it. */
  readonly name: string
  /** What it is for and when to use it; shown to models. */
  readonly description: string
  /** The instructions: all that follows the frontmatter. */
  readonly body: string
  /** Its folder, absolute: relative paths in the body start here. */
  readonly baseDir: string
  /** Absolute path of its `SKILL.md`. */
  readonly filename: string
  readonly source: SkillSource
  readonly plugin?: string
  /**
   * Tools that its author wants to have allowed while it is used. A wish that a host may grant: no file's text
   * approves anything.
   */
  readonly allowedTools?: readonly string[]
  /** Only people and definitions may load it; models can neither see nor call it. */
  readonly disableModelInvocation: boolean
  readonly model?: string
}

/** Where a skill file stands: what its text alone does not say. */
export interface SkillOrigin {
  /** Absolute path of the `SKILL.md`. */
  readonly path: string
  /** Absolute path of its folder. */
  readonly baseDir: string
  /** The folder's name: the skill's name unless the frontmatter gives another. */
  readonly folderName: string
  readonly source: SkillSource
  readonly plugin?: string
}
