/** The code of a system error, such as `ENOENT`; undefined for an error without one. */
export function codeOf(error: unknown): string | undefined {
  const fault: NodeJS.ErrnoException | undefined = error instanceof Error ? error : undefined
  return fault?.code
}
