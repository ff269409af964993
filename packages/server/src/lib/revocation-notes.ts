/** What local validators must learn: the minimum `tv` of a user, the end of one session, or the minimum `iat` of an app. */
export type NewRevocation =
  | { userId: string; appId: string | null; minTokenVersion: number }
  | { userId: string; appId: string | null; sessionId: string }
  | { appId: string; minIat: number }

/** The revocations of one transaction. `transaction` writes them last. */
export class RevocationNotes {
  readonly noted: NewRevocation[] = []

  /**
   * Tells local validators once the transaction commits. This service itself refuses the tokens only by the rows that hold the
   * minimums.
   */
  note(revocation: NewRevocation): void {
    this.noted.push(revocation)
  }
}
