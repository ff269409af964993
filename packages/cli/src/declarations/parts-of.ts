/** The resource ends at the first colon. The service refuses a code without one. */
export function partsOf(code: string): { resource: string; action: string } {
  const colon = code.indexOf(':')
  return { resource: colon === -1 ? code : code.slice(0, colon), action: code.slice(colon + 1) }
}
