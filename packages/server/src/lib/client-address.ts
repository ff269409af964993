import { isIP, isIPv6 } from 'node:net'

function plain(address: string): string {
  // A dual-stack socket reports IPv4 peers as ::ffff:192.0.2.1; a proxy may write the same as ::ffff:c000:201.
  const mapped = /^(?:::|(?:0{1,4}:){5})ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i.exec(address)
  if (!mapped) return address
  const [, dotted, high = '', low = ''] = mapped
  if (dotted !== undefined) return dotted
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]).join('.')
}

/**
 * The address of the client. Of `X-Forwarded-For` only the entries that our own proxies wrote count: the last `trustedProxies`
 * ones; whatever the client wrote before them is hearsay.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string {
  const socket = plain(socketAddress ?? '')
  if (trustedProxies === 0 || !forwardedFor) return socket
  const entries = forwardedFor.split(',').map((entry) => plain(entry.trim()))
  const entry = entries[Math.max(0, entries.length - trustedProxies)]!
  return isIP(entry) ? entry : socket
}

/** What a rate limit counts by: an IPv4 address, or the /64 that one IPv6 customer has to himself. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.split('%')[0]!.split('::')
  const left = head.split(':').filter((group) => group !== '')
  const right = address.includes('::') ? tail.split(':').filter((group) => group !== '') : []
  const groups = [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
