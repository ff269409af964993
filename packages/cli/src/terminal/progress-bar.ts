import { counted } from '../text/counted.ts'

export interface Progress {
  /** Lines done. */
  lines: number
  /** The share that was read, from 0 to 1. Undefined if the total is unknown. */
  share: number | undefined
  elapsedMs: number
}

const cells = 24

/** One line for a terminal: a bar, lines, rate, time left. */
export function progressBar({ lines, share, elapsedMs }: Progress): string {
  const rate = elapsedMs > 0 ? Math.round(lines / (elapsedMs / 1000)) : 0
  const told = `${counted(lines, 'line')}, ${grouped(rate)}/s`
  if (share === undefined) return told
  const full = Math.floor(share * cells)
  const bar = '#'.repeat(full) + '-'.repeat(cells - full)
  const left = share > 0 ? `, ${duration(Math.ceil((elapsedMs / 1000) * (1 / share - 1)))} left` : ''
  return `[${bar}] ${String(Math.floor(share * 100)).padStart(3)} %  ${told}${left}`
}

/** `12345` → `12,345`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** `75` → `1 min 15 s`. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}
