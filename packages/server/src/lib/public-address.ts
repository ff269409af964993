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
