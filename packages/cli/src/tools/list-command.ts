import { type Api, bodyOf, type Pages, pages } from '../api/api-client.ts'
import { count, type Input, type Options } from '../command-line/options.ts'
import type { Column } from '../output/cells.ts'
import { list } from '../output/render.ts'
import { type Command, command, type Wording } from './command.ts'
import type { Tools } from './create-tools.ts'

interface ListSpec<Filters extends Options, Row extends object> extends Wording {
  filters: Filters
  /** Reads a page. The limit and the cursor of `page` come last in the query. */
  read(
    api: Api,
    filters: Input<Filters>,
    page: { limit: number; cursor?: string },
  ): Promise<{ data?: { items: Row[]; next_cursor: string | null } }>
  columns: Column<Row>[]
  /** Shown for an empty list. */
  none: string
  /** Called with the pages before they are shown. */
  watch?(tools: Tools, filters: Input<Filters>, pages: Pages<Row>): Pages<Row>
  /** As in `Command`. */
  lists?: Command['lists']
}

/** A command that lists entries of the service: all of them, or at most `--limit`. */
export function listCommand<Filters extends Options, Row extends object>({
  filters,
  read,
  columns,
  none,
  watch = (_, __, pages) => pages,
  lists = 'whole',
  ...wording
}: ListSpec<Filters, Row>): Command {
  const options: Options = { ...filters, limit: count('N', 'Maximum number of rows. Default: all') }
  const run = async (tools: Tools, input: Input<Options> & { limit?: number }) => {
    const given = Object.fromEntries(Object.keys(filters).map((key) => [key, input[key]])) as Input<Filters>
    const all = pages((page) => bodyOf(read(tools.api, given, page)), input.limit)
    return list(watch(tools, given, all), columns, none)
  }
  return command({ ...wording, lists, options, run: run as Command['run'] })
}
