// Checks that no text cites a section of a document outside this repository, such as `decisions` or `contract` with a number:
// readers have only the repository. In the sources and scripts, also refuses some words that are not plain technical English.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

interface Rule {
  files: string
  except: string[]
  refused: RegExp
  why: string
}

const rules: Rule[] = [
  {
    files: '{packages/*/src,scripts,test,docs,examples}/**/*.{ts,mjs,md}',
    except: ['**/node_modules/**'],
    refused: /\b(?:decisions|contract) §?\d/i,
    why: 'cites a document that is not in the repository',
  },
  {
    files: '{packages/*/src,scripts}/**/*.{ts,tsx,mjs}',
    // Released migrations never change, and this file names the words.
    except: ['**/*.test.ts', '**/db/migrations/*', 'scripts/check-words.ts'],
    refused: /\b(?:whoever|anew|unless (?:told|given)|so many)\b/i,
    why: 'is not plain English',
  },
]

for (const { files, except, refused, why } of rules) {
  for (const file of globSync(files, { cwd: root, exclude: except }).sort()) {
    const lines = readFileSync(join(root, file), 'utf8').split('\n')
    for (const [index, line] of lines.entries()) {
      if (!refused.test(line)) continue
      console.error(`${file}:${index + 1} ${why}: ${line.trim()}`)
      process.exitCode = 1
    }
  }
}
