import { ok, okPage, route, section } from '../../http/route.ts'
import { archiveAudit, findNames, getAuditEvent, listAuditEvents } from './audit.ts'
import { presentAuditEvent, presentFault, presentVerification } from './present.ts'
import {
  archiveAuditQuery,
  auditArchivePart,
  auditPage,
  auditRecord,
  auditVerification,
  listAuditQuery,
  verifyAuditQuery,
} from './schema.ts'
import { verifyAudit } from './verify-audit.ts'

export const auditRoutes = section('Audit', [
  route({
    method: 'GET',
    path: '/admin/audit',
    summary: 'List audit events, newest first',
    description:
      'Events must match all filters that are given. If nothing matches, the page is empty. An unknown app is 404, with the ' +
      'nearest code.',
    auth: 'help_desk_reader',
    query: listAuditQuery,
    responses: { 200: auditPage },
    errors: ['not_found'],
    handle: async (deps, { query }) => {
      const events = await listAuditEvents(deps, query)
      const names = await findNames(deps, events.items)
      return okPage(events, (event) => presentAuditEvent(event, names))
    },
  }),
  route({
    method: 'GET',
    path: '/admin/audit/verify',
    summary: 'Verify the audit log against its proofs',
    description:
      'Verifies one page at a time, until `next_cursor` is null. Reports the first event that was changed, removed, or not ' +
      'written by the service.',
    auth: 'admin_reader',
    query: verifyAuditQuery,
    responses: { 200: auditVerification },
    handle: async (deps, { query }) => ok(presentVerification(await verifyAudit(deps, query))),
  }),
  route({
    method: 'GET',
    path: '/admin/audit/archive',
    summary: 'Read the audit for an archive that can be verified without the service',
    description:
      'Compares each event with its proof, and answers with lines that are signed. Goes on until `next_cursor` is null. If an event is ' +
      'not what the service wrote, the answer has no lines, and says which.',
    auth: 'admin_reader',
    query: archiveAuditQuery,
    responses: { 200: auditArchivePart },
    async handle(deps, { query }) {
      const { fault, ...part } = await archiveAudit(deps, query)
      return ok({ ...part, fault: fault && presentFault(fault) })
    },
  }),
  route({
    method: 'GET',
    path: '/admin/audit/{id}',
    summary: 'Show an audit event',
    auth: 'help_desk_reader',
    responses: { 200: auditRecord },
    async handle(deps, { params }) {
      const event = await getAuditEvent(deps, params.id)
      return ok(presentAuditEvent(event, await findNames(deps, [event])))
    },
  }),
])
