/**
 * What `npm start` shows in its first minute, from the service's address to the end of the tour, without what differs from run to
 * run: ids, the names of users, ports and the password.
 */
export function maskFirstMinute(output: string): string {
  const ports = new Map<string, string>()
  const [, tour = ''] = /(Gatehouse is running[\s\S]*?\n)\nThat is all of it/.exec(output) ?? []
  return tour
    .replace(/password \S{20}\n/, 'password xxxxxxxxxxxxxxxxxxxx\n')
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '01a2b3c4-0000-7000-8000-000000000000')
    .replace(/\bada-[0-9a-f]{6}@/g, 'ada-1a2b3c@')
    .replace(/(?<=http:\/\/127\.0\.0\.1:)\d+/g, (port) => {
      // The service is the first to be named, and the backend the second.
      if (!ports.has(port)) ports.set(port, ports.size === 0 ? '4000' : '3000')
      return ports.get(port)!
    })
    .replace(/context "local(-\d+)?"/, 'context "local"')
}
