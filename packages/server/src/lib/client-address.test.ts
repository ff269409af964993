import { describe, expect, test } from 'vitest'
import { addressKey, clientAddress } from './client-address.ts'

describe('the address of a client', () => {
  test.each<[string | undefined, string | undefined, number, string]>([
    // By default, no proxy is trusted.
    ['192.0.2.1', '203.0.113.9', 0, '192.0.2.1'],
    ['192.0.2.1', undefined, 2, '192.0.2.1'],
    ['192.0.2.1', '', 1, '192.0.2.1'],
    // Trusts as many entries from the right as there are proxies. The client may have written the others.
    ['10.0.0.1', '203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9, 10.0.0.2', 2, '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1,2.2.2.2,203.0.113.9,10.0.0.2', 2, '203.0.113.9'],
    // Fewer entries than proxies: the first entry is the best guess.
    ['10.0.0.1', '203.0.113.9', 5, '203.0.113.9'],
    // An entry that is not an address is ignored.
    ['10.0.0.1', 'unknown', 1, '10.0.0.1'],
    ['10.0.0.1', '_hidden', 1, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9,', 1, '10.0.0.1'],
    ['10.0.0.1', '999.1.1.1', 1, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9:', 1, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9:123456', 1, '10.0.0.1'],
    ['10.0.0.1', '[203.0.113.9', 1, '10.0.0.1'],
    ['10.0.0.1', '[]:80', 1, '10.0.0.1'],
    // Some proxies write the port too.
    ['10.0.0.1', '203.0.113.9:1234', 1, '203.0.113.9'],
    ['10.0.0.1', '198.51.100.7:9, 203.0.113.9:1234', 1, '203.0.113.9'],
    ['10.0.0.1', '[2001:db8::1]:1234', 1, '2001:db8::1'],
    ['10.0.0.1', '[2001:db8::1]', 1, '2001:db8::1'],
    ['10.0.0.1', '[::ffff:203.0.113.9]:443', 1, '203.0.113.9'],
    ['10.0.0.1', '<script>', 1, '10.0.0.1'],
    // IPv4 in IPv6 counts as IPv4, in any notation.
    ['::ffff:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['::FFFF:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['10.0.0.1', '::ffff:203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '::ffff:cb00:7109', 1, '203.0.113.9'],
    ['10.0.0.1', '0:0:0:0:0:ffff:cb00:7109', 1, '203.0.113.9'],
    ['10.0.0.1', '0000:0000:0000:0000:0000:FFFF:203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.1', '2001:db8::1', 1, '2001:db8::1'],
    // So does IPv4 behind a translator to IPv6.
    ['64:ff9b::192.0.2.1', undefined, 0, '192.0.2.1'],
    ['10.0.0.1', '64:ff9b::cb00:7109', 1, '203.0.113.9'],
    ['10.0.0.1', '64:ff9b:1::cb00:7109', 1, '64:ff9b:1::cb00:7109'],
    // The names of network cards have more characters than those of addresses.
    ['fe80::1%br-1a2b.100', undefined, 0, 'fe80::1%br-1a2b.100'],
    ['10.0.0.1', 'fe80::1%a:b', 1, 'fe80::1%a:b'],
    [undefined, undefined, 0, ''],
  ])('the client from %s with X-Forwarded-For %j behind %d proxies has the address %s', (socket, forwarded, proxies, address) => {
    expect(clientAddress(socket, forwarded, proxies)).toBe(address)
  })
})

describe('the key of an address', () => {
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
    ['fe80::1%br-1a2b.100', 'fe80:0:0:0::/64'],
    ['1::8', '1:0:0:0::/64'],
    ['1:2:3::4.5.6.7', '1:2:3:0::/64'],
    ['', ''],
  ])('%s is counted as %s', (address, key) => {
    expect(addressKey(address)).toBe(key)
  })
})
