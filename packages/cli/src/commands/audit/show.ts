import { bodyOf } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { positional } from '../../command-line/options.ts'
import { type AuditEvent, shownActor } from '../../nouns/audit-events.ts'
import { refusalByLaterChange } from '../../nouns/later-change.ts'
import { type Undo, undoOf } from '../../nouns/undo-event.ts'
import { toCommandLine } from '../../text/shell-words.ts'
import { isUuid } from '../../text/uuid.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const showAudit = command({
  path: 'audit show',
  options: { id: positional('ID', 'Id of the event, as audit list shows it') },
  summary: 'Show an event in full, and the command that undoes the change',
  description:
    'Shows users, apps and service accounts by name if they still exist. Not every change can be undone. If something changed the ' +
    'same thing later, the newest such event is named and no command is printed.',
  examples: [
    'audit show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'audit show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --json',
    'audit show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --context production',
  ],
  async run({ api, now }, { id }) {
    if (!isUuid(id)) {
      throw new Failure('invalid', `"${id}" is not the id of an event`, {
        code: 'invalid_event',
        hint: 'audit list --json shows the ids',
      })
    }
    const event = await bodyOf(api.GET('/api/v1/admin/audit/{id}', { params: { path: { id } } }))
    const undoing = await stillSafe(api, event, undoOf(event, now()))
    const undo = undoing && 'words' in undoing ? `authctl ${toCommandLine(undoing.words)}` : null
    const refusal = undoing && 'refusal' in undoing ? undoing.refusal : null
    const { details, actor: _, names, user_id, app_id, ...told } = event
    const record = { ...told, actor: shownActor(event), user: names.user, app: names.app, user_id, app_id, ...(details ?? {}) }
    return {
      kind: 'report',
      value: { ...event, undo, undo_refused: refusal },
      parts: [{ record }, ...(undo ? ['', 'To undo it:', `  ${undo}`] : []), ...(refusal ? ['', refusal] : [])],
    }
  },
})

/** An undo of something that changed later could reverse the later change. */
async function stillSafe(api: Tools['api'], event: AuditEvent, undo: Undo | undefined): Promise<Undo | undefined> {
  if (!undo || 'refusal' in undo) return undo
  const refusal = await refusalByLaterChange(api, event)
  return refusal === undefined ? undo : { refusal }
}
