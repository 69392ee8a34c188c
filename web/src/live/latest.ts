/** Asks the newest of many questions, one at a time. While a slider is dragged, answers come as fast as the server gives
 * them; a question that takes longer than patience is given up for a newer one. */
export class Latest<Question, Answer> {
  private next: { question: Question } | null = null;
  private underWay: { controller: AbortController; began: number } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly ask: (question: Question, signal: AbortSignal) => Promise<Answer>,
    private readonly told: (question: Question, answer: Answer) => void,
    private readonly failed: (question: Question, error: unknown) => void,
    private readonly gap = 40, private readonly patience = 500,
  ) {}

  /** Whether an answer is still awaited. */
  get busy(): boolean {
    return this.next !== null || this.underWay !== null;
  }

  put(question: Question): void {
    this.next = { question };
    if (this.timer !== undefined) return;
    const wait = this.underWay ? Math.max(0, this.underWay.began + this.patience - Date.now()) : this.gap;
    this.timer = setTimeout(() => this.send(), wait);
  }

  /** Gives up what is asked. */
  cancel(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.next = null;
    this.underWay?.controller.abort();
    this.underWay = null;
  }

  private send(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.next) return;
    const { question } = this.next;
    this.next = null;
    this.underWay?.controller.abort();
    const mine = { controller: new AbortController(), began: Date.now() };
    this.underWay = mine;
    const done = (tell: () => void) => {
      if (this.underWay !== mine) return; // given up for a newer one
      this.underWay = null;
      if (this.next) this.send();
      tell();
    };
    this.ask(question, mine.controller.signal).then((answer) => done(() => this.told(question, answer)), (error: unknown) => done(() => this.failed(question, error)));
  }
}
