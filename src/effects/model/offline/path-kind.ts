/** What kind of file a path names, from its look. */

/** From the most to the least telling, for a question about where something is. */
export type PathKind = 'source' | 'test' | 'docs' | 'data' | 'generated'

const GENERATED =
  /(?:^|\/)(?:node_modules|dist|build|out|vendor|target|coverage|\.git|\.claude\/tasks)\/|(?:^|\/)(?:package-lock\.json|pnpm-lock\.yaml|[^/]*\.(?:lock|lockb|map|snap|min\.\w+)|[^/]*[._-](?:generated|pb)\.\w+)$/
const TEST =
  /(?:^|\/)(?:tests?|specs?|__tests__|e2e|fixtures?|testdata)\/|[._-](?:test|spec|test-d|bench)\.\w+$|(?:^|\/)test_[^/]+$/
const DOCS = /\.(?:mdx?|rst|adoc|txt)$|(?:^|\/)(?:README|CHANGELOG|LICENSE)[^/]*$/i
const DATA = /\.(?:jsonl?|jsonc|ya?ml|toml|xml|csv|svg|html|css|ini|cfg|env)$/i

export function pathKind(path: string): PathKind {
  if (GENERATED.test(path)) return 'generated'
  if (DOCS.test(path)) return 'docs'
  if (TEST.test(path)) return 'test'
  return DATA.test(path) ? 'data' : 'source'
}
