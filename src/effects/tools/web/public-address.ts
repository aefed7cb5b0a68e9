/**
 * Which addresses belong to the public internet. Everything else is somebody's own network: this machine, the network
 * that it stands in, and the services that hand out credentials to whoever asks from the inside.
 */
import { BlockList, isIP } from 'node:net'

/** Of IPv4, what is not public: the special-purpose registry, multicast, and a metadata service that stands outside of both. */
const NOT_PUBLIC_4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Link-local, and with it the metadata service of most clouds.
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // A cloud's own service, under a public address that answers from inside only.
  ['168.63.129.16', 32],
  // Multicast, reserved, broadcast.
  ['224.0.0.0', 3],
]

/** Of IPv6 only this is handed out to the public: so IPv4 in disguise, private and link-local ones are none of it. */
const PUBLIC_6 = ['2000::', 3] as const

/** Within it: protocol assignments and tunnels that carry an IPv4 address (Teredo, 6to4), and documentation. */
const NOT_PUBLIC_6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const blocked = new BlockList()
for (const [network, prefix] of NOT_PUBLIC_4) blocked.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of NOT_PUBLIC_6) blocked.addSubnet(network, prefix, 'ipv6')
const assigned = new BlockList()
assigned.addSubnet(...PUBLIC_6, 'ipv6')

/** Is it an address that anybody on the internet reaches? False for what is no address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blocked.check(address, 'ipv4')
    case 6:
      // With a zone it is an address of this link.
      return !address.includes('%') && assigned.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
    default:
      return false
  }
}
