/** What local validators must learn: a floor under `tv` of a user, the end of one session, or a floor under `iat` of an app. */
export type NewRevocation =
  | { userId: string; appId: string | null; minTokenVersion: number }
  | { userId: string; appId: string | null; sessionId: string }
  | { appId: string; minIat: number }

/** The revocations of one transaction. `transaction` writes them last. */
export class RevocationNotes {
  readonly noted: NewRevocation[] = []

  /** Tells local validators once the transaction commits. This service itself refuses the tokens only by the rows that hold floors. */
  note(revocation: NewRevocation): void {
    this.noted.push(revocation)
  }
}
