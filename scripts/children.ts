import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

type Child = ChildProcessByStdio<Writable, Readable, Readable>

export interface Finished {
  code: number
  stdout: string
  stderr: string
}

const startTimeoutMs = 60_000

/** The programs that a script has started. They end with it. */
export class Children {
  readonly #running = new Set<Child>()

  start(command: string, args: readonly string[], env: Record<string, string> = {}): Child {
    const program = command === 'node' ? process.execPath : command
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    this.#running.add(child)
    child.on('exit', () => this.#running.delete(child))
    return child
  }

  /** Runs a program to its end. */
  async run(
    command: string,
    args: readonly string[],
    options: { stdin?: string; env?: Record<string, string> } = {},
  ): Promise<Finished> {
    const child = this.start(command, args, options.env)
    child.stdin.end(options.stdin ?? '')
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
    const code = await new Promise<number>((resolve, reject) =>
      child.on('error', reject).on('close', (code) => resolve(code ?? 1)),
    )
    return { code, stdout, stderr }
  }

  /**
   * Returns what `find` makes of the first line of output that it understands. Throws if the child ends first, or after a minute.
   */
  async waitForLine(child: Child, find: (line: string) => string | undefined): Promise<string> {
    let complaints = ''
    child.stderr.setEncoding('utf8').on('data', (text) => (complaints += text))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('a program did not start within a minute')), startTimeoutMs)
      child.on('error', reject)
      child.on('close', (code) => reject(new Error(complaints.trim() || `a program ended while it was starting (exit ${code})`)))
      createInterface({ input: child.stdout }).on('line', (line) => {
        const found = find(line)
        if (found === undefined) return
        clearTimeout(timer)
        resolve(found)
      })
    })
  }

  /** The exit code of the first program that ends. */
  async anyExit(): Promise<number | null> {
    return new Promise((resolve) => {
      for (const child of this.#running) child.on('exit', resolve)
    })
  }

  async stop(child: Child): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.on('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.stop(child)))
  }
}
