type Kind = 'webhook' | 'mail'

/**
 * Tells a worker of this process that there is work, of any kind or of one. A ring without a listener is lost, but workers also
 * poll.
 */
export class Bell {
  onRing: (kind?: Kind) => void = () => {}

  ring(kind?: Kind): void {
    this.onRing(kind)
  }
}
