import { decide } from '/work/main/src/definitions/permissions/decide.ts'
import { refusalMessage } from '/work/main/src/definitions/permissions/refusal-message.ts'
import { parseRules } from '/work/main/src/definitions/permissions/rule.ts'
const rep = (size: number, [head, text]: readonly string[]) => head + text.repeat(Math.ceil(size / text.length)).slice(0, size)
const PAIRS = () => SHAPES.flatMap(x => ['', '{', '[', '(', '$(', '"', '`', '{a,', '/', 'rm '].map(h => [h, x]))
const SHAPES = [
    ...['a', ' ', '(', ')', '{', '}', '{a,', '{,', ',', '$(', '${', '`', '"', "'", '\\', '<', '>', '<<', '&', ';', '*'],
    ...['*a', '?', '[', ']', '[a', '/', '../', './', 'a/', '**/', '$x', '$', '=', 'a=', '1>', '~', '#', '!', '\n', ' -x', 'sudo '],
    ...['\u0001', '\ud800', 'é', 'e\u0301', '{a,b}', '"$(', "'$(`", '(a b)', 'git push '],
]
const DENY = ['Bash(git push *)', 'Bash(rm:*)', 'Bash(* --force)', 'Read(./**/*secret*/**)', 'Edit({a,b}/**)', '*x']
const ALLOW = ['Bash(git log:*)', 'Read(./**/*.ts)', 'Edit(*a*b*c)']
const rules = (t: string[], kind: 'allow'|'deny') => parseRules(t, { kind, source: 't' }).rules
const time = (f: () => void) => { const t = performance.now(); f(); return performance.now() - t }
for (const toolName of ['Bash','Read','Edit','Agent']) for (const shape of PAIRS()) {
  const p = { mode: 'default' as const, allow: rules(ALLOW,'allow'), deny: rules(DENY,'deny'), ceilings: [{agent:'p',mode:'default' as const,deny:rules(DENY,'deny')}] }
  const act = (n: number) => { const r = { toolName, cwd:'/project', isReadOnly:false, isInsideCwd:true, subject: rep(n,shape), resolvedPath:'/'+rep(n,shape) }; refusalMessage(r, decide(r,p)) }
  act(100); const a = time(() => act(4000)), b0 = time(() => act(32000)), b = b0 > 40 && b0 > 14 * a ? Math.min(b0, time(() => act(32000))) : b0
  if (b > 60 && b / Math.max(a,.3) > 16) console.log('call', toolName, JSON.stringify(shape), a.toFixed(1), b.toFixed(1))
}
for (const toolName of ['Bash','Read','Agent','Web']) for (const shape of PAIRS()) {
  const act = (n: number) => { const t = `${toolName}(${rep(n,shape)})`; const p = { mode:'default' as const, allow: rules([t],'allow'), deny: rules([t],'deny'), ceilings: [] }
    for (const subject of ['git push origin','a/b/c', 'a'.repeat(200)+'b']) decide({toolName, subject, cwd:'/project', isReadOnly:false, isInsideCwd:true}, p) }
  act(100); const a = time(() => act(4000)), b0 = time(() => act(32000)), b = b0 > 40 && b0 > 14 * a ? Math.min(b0, time(() => act(32000))) : b0
  if (b > 60 && b / Math.max(a,.3) > 16) console.log('rule', toolName, JSON.stringify(shape), a.toFixed(1), b.toFixed(1))
}
console.log('done')
