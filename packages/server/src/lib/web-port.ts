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
