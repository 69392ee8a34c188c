// Package queue is a durable, replicated work queue on NATS JetStream. It hands out a unit of work again and again until a
// worker reports that it is done. If the queue loses its leader or single servers, or cannot be reached for a while, callers
// wait and then continue.
//
// The queue may hand out a unit twice, so units must be repeatable.
package queue
