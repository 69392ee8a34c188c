// Package queue keeps what workers still have to do: a durable, replicated work queue on NATS JetStream. A unit of work that was
// put in is handed out again and again until a worker says that it is done. The queue may lose its leader, its servers one by
// one, or be out of reach for a while: callers wait, and go on.
//
// It may hand a unit out twice. Units must therefore be repeatable.
package queue
