import ipaddr from 'ipaddr.js'

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
const wellKnownNat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/**
 * Whether an IP address, as text, belongs to the public internet, and not to this machine, a private or link-local network, a
 * network of a carrier, documentation or multicast. An IPv4 address inside an IPv6 one (NAT64, IPv4-mapped) counts as the IPv4
 * address. 6to4 and Teredo are never public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.range() === 'unicast'
  if (parsed.match(wellKnownNat64)) return isPublicAddress(parsed.toByteArray().slice(-4).join('.'))
  return parsed.match(globalUnicast) && parsed.range() === 'unicast'
}

/** Ports of common protocols other than HTTP, whose servers could read lines of a request as commands. */
const foreignPorts = new Set([
  // Mail.
  ...[25, 110, 143, 465, 587, 993, 995, 2525, 4190],
  // Shells and files.
  ...[20, 21, 22, 23, 69, 139, 445, 512, 513, 514, 515, 548, 873, 989, 990, 2049, 3389, 5900, 6000],
  // Names, directories and networks.
  ...[53, 111, 123, 135, 137, 161, 179, 389, 636],
  // News, media and chat.
  ...[119, 554, 563, 5060, 5061, 6667, 6697],
  // Databases.
  ...[1433, 1521, 3306, 5432, 6379, 6432, 11211, 27017],
])

/** Whether requests may go to the port of a URL, which is empty for the default port. */
export function isWebPort(port: string): boolean {
  return port === '' || !foreignPorts.has(Number(port))
}
