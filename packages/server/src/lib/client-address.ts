import { isIP, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The prefix of RFC 6052 that every translator from IPv4 may use. */
const translated = ipaddr.IPv6.parse('64:ff9b::')

/**
 * A dual-stack socket reports IPv4 peers as ::ffff:192.0.2.1; a proxy may write the same as ::ffff:c000:201. Before a network that
 * has only IPv6, a translator writes them as 64:ff9b::192.0.2.1, all in one /64.
 */
function plain(address: string): string {
  if (!isIPv6(address)) return address
  const parsed = parseIPv6(address)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  return parsed.match(translated, 96) ? new ipaddr.IPv4(parsed.toByteArray().slice(12)).toString() : address
}

/**
 * Leaves out the zone of a link-local address: it names a network card of this machine, in more characters than the parser knows.
 */
function parseIPv6(address: string): ipaddr.IPv6 {
  return ipaddr.IPv6.parse(address.replace(/%.*/, ''))
}

/**
 * The address of the client. Only the last `trustedProxies` entries of `X-Forwarded-For` count, which our own proxies wrote. The
 * client may have written the others.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string {
  const socket = plain(socketAddress ?? '')
  if (trustedProxies === 0 || !forwardedFor) return socket
  const entries = forwardedFor.split(',')
  const entry = plain(withoutPort((entries[Math.max(0, entries.length - trustedProxies)] ?? '').trim()))
  return isIP(entry) ? entry : socket
}

/** Some proxies write the port beside the address: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(entry)?.[1] ?? entry
}

/** The key that rate limits count by: an IPv4 address, or the /64 that belongs to one IPv6 customer. */
export function addressKey(address: string): string {
  return networkOf(address, 64)
}

/** An IPv4 address, or the network of an IPv6 one. */
export function networkOf(address: string, bits: 48 | 64): string {
  if (!isIPv6(address)) return address
  const network = parseIPv6(address).parts.slice(0, bits / 16)
  return `${network.map((part) => part.toString(16)).join(':')}::/${bits}`
}
