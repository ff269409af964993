import { expect, test } from 'vitest'
import { csvLine } from './csv.ts'

test('a line of CSV is quoted so that any reader can split it', () => {
  expect(csvLine(['a', 'b,c', 'say "hi"', ' x', null, undefined, true, 3])).toBe('a,"b,c","say ""hi"""," x",,,true,3\r\n')
  expect(csvLine([['one', 'two'], [], { a: 1 }, 'line\nbreak'])).toBe('"one;two",,"{""a"":1}",line\\u000abreak\r\n')
})

test('a spreadsheet does not run what people typed', () => {
  expect(csvLine(['=HYPERLINK("https://evil.example")', '+cmd', '-2', '@SUM(A1)', '-x'])).toBe(
    `"'=HYPERLINK(""https://evil.example"")",'+cmd,-2,'@SUM(A1),'-x\r\n`,
  )
})

test('a spreadsheet runs no formula after a semicolon or in full-width characters', () => {
  expect(csvLine(['x;=1+1', ['staff', '=cmd'], [';+1', '-2'], '＝1', '＋1', '－1', '＠a', ' =1', 'a=b;c-d', 'a@b.c'])).toBe(
    `"x;'=1+1","staff;'=cmd",";'+1;'-2",'＝1,'＋1,'－1,'＠a,' =1,"a=b;c-d",a@b.c\r\n`,
  )
})
