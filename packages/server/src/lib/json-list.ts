/** Whether a text is JSON, and a list. */
export function isJsonList(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}
