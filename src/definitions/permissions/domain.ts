/** `WebFetch(domain:example.org)`: which addresses a rule for a domain speaks of. */
import type { RuleKind } from './rule-kind.ts'
import { isWide } from './rule-kind.ts'

/** The domain that a specifier names, in the form of addresses; undefined when it is none. `*.x` is below x. */
export function domainOf(specifier: string): string | undefined {
  const written = /^domain:\s*(?<domain>[^\s/@?#\\:]+)$/iu.exec(specifier)?.groups?.['domain']
  if (written === undefined) return undefined
  const isBelow = written.startsWith('*.')
  const host = hostOf(`https://${isBelow ? written.slice(2) : written}/`)
  if (host === undefined || host.includes('*')) return undefined
  return isBelow ? `*.${host}` : host
}

/**
 * Does a rule for the domain speak of the address? To allow, of the domain itself, and of those below only with
 * `*.`; to deny, of both, and of whatever is no address.
 */
export function coversAddress(domain: string, address: string | undefined, kind: RuleKind): boolean {
  const host = address === undefined ? undefined : hostOfCall(address)
  if (host === undefined) return isWide(kind)
  const isBelow = domain.startsWith('*.')
  const name = isBelow ? domain.slice(2) : domain
  if (isWide(kind)) return host === name || host.endsWith(`.${name}`)
  return isBelow ? host.endsWith(`.${name}`) : host === name
}

let last: { readonly address: string; readonly host: string | undefined } | undefined

/** One call is looked at by many rules: the host of the last address is kept. It depends on the address alone. */
function hostOfCall(address: string): string | undefined {
  if (last?.address !== address) last = { address, host: hostOf(address) }
  return last.host
}

function hostOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, hostname } = new URL(address)
  // A dot at the end says the same name.
  const host = hostname.replace(/\.$/u, '')
  return /^https?:$/u.test(protocol) && host !== '' ? host : undefined
}
