/** What may be fetched: from a text to an address that was judged, and the machines it leads to. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { ToolRefusal } from '../tool-refusal.ts'
import { isPublicAddress } from './public-address.ts'

const MAX_URL = 2000

/** An address of a machine, as a resolver gives it. */
export interface HostAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Finds the addresses of a host. Rejects when there are none. */
export type ResolveHost = (host: string) => Promise<readonly HostAddress[]>

/** Asks as programs on this machine do (hosts file, then DNS). */
export const resolveHost: ResolveHost = async (host) => {
  const found = await lookup(host, { all: true })
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
}

/**
 * Reads an address. `http` becomes `https`, except for hosts that may be private: those are fetched as they stand.
 * Without the fragment. Throws a {@link ToolRefusal} for what is not fetched.
 */
export function readAddress(text: string, privateHosts: readonly string[]): URL {
  if (text.length > MAX_URL) {
    throw new ToolRefusal(`The URL has ${text.length} characters; at most ${MAX_URL} are taken.`)
  }
  if (!URL.canParse(text)) {
    throw new ToolRefusal(`"${text}" is not a whole URL. Give one like https://example.org/page.`)
  }
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new ToolRefusal(`Only https addresses are fetched, not ${url.protocol} ones.`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new ToolRefusal('The URL holds a user name or password. Leave it out: credentials are not sent.')
  }
  url.hash = ''
  if (!mayBePrivate(url, privateHosts)) url.protocol = 'https:'
  return url
}

/** Is the host, with or without its port, among those that the option names? */
const mayBePrivate = ({ hostname, host }: URL, privateHosts: readonly string[]): boolean =>
  privateHosts.some((allowed) => allowed === hostname || allowed === host)

/**
 * The addresses to connect to, each judged. One that is not public refuses them all: whoever answers like that may mean
 * it. Throws a {@link ToolRefusal}.
 */
export async function judgedAddresses(
  url: URL,
  privateHosts: readonly string[],
  resolve: ResolveHost,
): Promise<readonly HostAddress[]> {
  const addresses = await addressesOf(url, resolve)
  if (mayBePrivate(url, privateHosts)) return addresses
  const inside = addresses.find(({ address }) => !isPublicAddress(address))
  if (inside === undefined) return addresses
  throw new ToolRefusal(
    `${url.hostname} is ${inside.address}, which is not on the public internet. WebFetch does not go there. For a server on this machine use Bash, for example curl.`,
  )
}

async function addressesOf({ hostname }: URL, resolve: ResolveHost): Promise<readonly HostAddress[]> {
  const literal = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(literal)
  if (family !== 0) return [{ address: literal, family: family === 6 ? 6 : 4 }]
  try {
    const addresses = await resolve(hostname)
    if (addresses.length > 0) return addresses
  } catch (cause) {
    throw new ToolRefusal(`The host ${hostname} was not found. Is the name right?`, { cause })
  }
  throw new ToolRefusal(`The host ${hostname} has no address.`)
}
