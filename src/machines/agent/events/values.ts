/** Small values that facts of every kind are made of. */
import * as z from 'zod'
import type { PermissionMode } from '../../../definitions/permission-mode.ts'
import { AgentId } from '../../ids.ts'

/** A resolved value and the rule that decided it, so that anyone can ask why. */
export const resolved = <T extends z.ZodType>(value: T) => z.object({ value, rule: z.string() })

/** An error as data: what happened, and whether trying again later makes sense. */
export const Fault = z.looseObject({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
})
export type Fault = z.infer<typeof Fault>

/** Who a message is from (law 12). Set by the engine, never by text. */
export const Origin = z.discriminatedUnion('from', [
  z.object({ from: z.literal('user') }),
  z.object({ from: z.literal('agent'), agentId: AgentId }),
  z.object({ from: z.literal('hook'), hook: z.string() }),
  z.object({ from: z.literal('engine') }),
])
export type Origin = z.infer<typeof Origin>

export const PermissionModeName = z.enum([
  'plan',
  'dontAsk',
  'default',
  'acceptEdits',
  'auto',
  'bypassPermissions',
  'bubble',
]) satisfies z.ZodType<PermissionMode>

/** A file as a call left or saw it: the hash of its content, null when there is none. */
export const SeenFile = z.object({ path: z.string(), hash: z.string().nullable() })
export type SeenFile = z.infer<typeof SeenFile>

/** One run of one agent: what an end is told by. */
export const RunKey = z.looseObject({ agentId: AgentId, run: z.number().int().positive() })
export type RunKey = z.infer<typeof RunKey>
