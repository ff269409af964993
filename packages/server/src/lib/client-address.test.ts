import { describe, expect, test } from 'vitest'
import { addressKey, clientAddress } from './client-address.ts'

describe('clientAddress', () => {
  test.each<[string | undefined, string | undefined, number, string]>([
    // Nobody is believed unless told.
    ['192.0.2.1', '203.0.113.9', 0, '192.0.2.1'],
    ['192.0.2.1', undefined, 2, '192.0.2.1'],
    ['192.0.2.1', '', 1, '192.0.2.1'],
    // As many entries from the right as there are proxies; those before are what the client wrote.
    ['10.0.0.1', '203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9, 10.0.0.2', 2, '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1,2.2.2.2,203.0.113.9,10.0.0.2', 2, '203.0.113.9'],
    // Fewer entries than proxies: the first is the nearest to the truth.
    ['10.0.0.1', '203.0.113.9', 5, '203.0.113.9'],
    // What is no address is nobody's.
    ['10.0.0.1', 'unknown', 1, '10.0.0.1'],
    ['10.0.0.1', '_hidden', 1, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9,', 1, '10.0.0.1'],
    ['10.0.0.1', '999.1.1.1', 1, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9:1234', 1, '10.0.0.1'],
    ['10.0.0.1', '<script>', 1, '10.0.0.1'],
    // IPv4 in IPv6 is IPv4, however it is spelled.
    ['::ffff:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['::FFFF:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['10.0.0.1', '::ffff:203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '::ffff:cb00:7109', 1, '203.0.113.9'],
    ['10.0.0.1', '0:0:0:0:0:ffff:cb00:7109', 1, '203.0.113.9'],
    ['10.0.0.1', '0000:0000:0000:0000:0000:FFFF:203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '2001:db8::1', 1, '2001:db8::1'],
    [undefined, undefined, 0, ''],
  ])('from %s with X-Forwarded-For %j behind %d proxies: %s', (socket, forwarded, proxies, address) => {
    expect(clientAddress(socket, forwarded, proxies)).toBe(address)
  })
})

describe('addressKey', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1::8', '1:0:0:0::/64'],
    ['1:2:3::4.5.6.7', '1:2:3:0::/64'],
    ['', ''],
  ])('%s counts as %s', (address, key) => {
    expect(addressKey(address)).toBe(key)
  })
})
