import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isPublicAddress } from '../../../../src/effects/tools/web/public-address.ts'

it.each([
  ...['127.0.0.1', '127.255.0.9', '0.0.0.0', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...['169.254.169.254', '100.64.0.1', '100.100.100.200', '192.0.0.192', '168.63.129.16', '198.18.0.1'],
  ...['203.0.113.7', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...[
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    '3fff::1',
  ],
  // IPv4 in disguise: mapped, compatible, NAT64, 6to4, Teredo.
  ...[
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
  ],
  ...['', 'localhost', '1.2.3', '0x7f.1', '8.8.8.8 ', '1.1.1.1%1', '2606:4700::1111%eth0'],
])('%j is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

it.each([
  ...[
    '1.1.1.1',
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.1',
    '192.167.0.1',
    '100.63.255.255',
    '223.255.255.255',
  ],
  ...['2606:4700::1111', '2a00:1450:4001:80b::200e', '2001:4860:4860::8888'],
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

it('no address of a private network is public, however its host is written', () => {
  const byte = fc.nat(255)
  const privateOnes = fc.tuple(fc.constantFrom('10', '127', '0'), byte, byte, byte)
  fc.assert(
    fc.property(privateOnes, (parts) => {
      expect(isPublicAddress(parts.join('.'))).toBe(false)
      expect(isPublicAddress(`::ffff:${parts.join('.')}`)).toBe(false)
    }),
    { numRuns: 100 },
  )
})
