/** Tells a worker of this process that there is something to do. Rung while nobody listens, it is lost: workers look by themselves too. */
export class Bell {
  onRing: () => void = () => {}

  ring(): void {
    this.onRing()
  }
}
