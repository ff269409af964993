// The part of Next.js that ./next uses. Next.js itself is too large to install for its types.
declare module 'next/server.js' {
  /** Next.js 14 lacks it. */
  export const connection: (() => Promise<void>) | undefined
}
declare module 'next/headers.js' {
  export function headers(): Promise<{ get(name: string): string | null }>
}
