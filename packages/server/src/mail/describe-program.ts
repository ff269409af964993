// The order matters: most programs also name those that they are compatible with.
const programs: readonly [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPT)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
  [/^authctl\//, 'authctl'],
]
const systems: readonly [RegExp, string][] = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** What a `User-Agent` names, in our own words: anyone can send any text, and a mail must not pass it on. */
export function describeProgram(userAgent: string): { program: string | undefined; system: string | undefined } {
  // No browser sends more.
  const text = userAgent.slice(0, 500)
  const find = (list: typeof programs) => list.find(([pattern]) => pattern.test(text))?.[1]
  return { program: find(programs), system: find(systems) }
}
