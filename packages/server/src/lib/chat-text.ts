/** What draws, links or calls somebody in Slack, Google Chat or Discord, and the sign that is shown in its place. */
const lookAlikes: Record<string, string> = {
  '<': '‹',
  '>': '›',
  '&': '＆',
  '*': '＊',
  _: '＿',
  '~': '～',
  '`': 'ˋ',
  '|': '｜',
  '[': '［',
  ']': '］',
  '(': '（',
  ')': '）',
  '\\': '＼',
  '/': '／',
  '#': '＃',
  '@': '＠',
  ':': '：',
}
const marks = /[<>&*_~`|[\]()\\/#@:]/g
/** Characters that nobody sees or that reorder the line: controls, bidi marks, zero-width and other ignorable characters, line ends. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu
const mentions = /@(?=everyone|here|channel)/gi

/**
 * User-supplied text for a chat message: one line, in which nothing is a mention, a link or markup for any of the chat services. Dots
 * inside of words look as before and make no domain.
 */
export function plainChatText(text: string): string {
  return oneLine(text)
    .replace(marks, (mark) => lookAlikes[mark] ?? '')
    .replace(/\.(?=\S)/g, '․')
}

/** The same for an e-mail address, which stays one to be copied wherever no chat service reads more than an address in it. */
export function plainChatEmail(email: string): string {
  return oneLine(email)
    .replace(marks, (mark, at: number, whole: string) => (isPlainInEmail(mark, at, whole) ? mark : (lookAlikes[mark] ?? '')))
    .replace(mentions, '＠')
}

function isPlainInEmail(mark: string, at: number, whole: string): boolean {
  if (mark === '@') return true
  return mark === '_' && /[a-z0-9]/i.test(whole[at - 1] ?? '') && /[a-z0-9]/i.test(whole[at + 1] ?? '')
}

function oneLine(text: string): string {
  return text.replace(unseen, ' ').replace(/\s+/g, ' ').trim()
}
