/** Several webhooks of an app may have one name. Name and URL together identify a webhook, and its secret belongs to both. */
export function webhookKey({ name, url }: { name: string; url: string }): string {
  return JSON.stringify([name, url])
}
