/** The resource ends at the first colon. */
export function partsOf(code: string): { resource: string; action: string } {
  const colon = code.indexOf(':')
  return { resource: code.slice(0, colon), action: code.slice(colon + 1) }
}
