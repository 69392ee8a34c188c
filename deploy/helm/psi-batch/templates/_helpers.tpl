{{- define "batch.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- /* What the release is, whoever asks. */ -}}
{{- define "batch.instance" -}}
app.kubernetes.io/name: psi-batch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "batch.labels" -}}
{{ include "batch.instance" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "batch.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "batch.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- /* Jobs cannot be changed, so other values are another one: a few letters of their digest are in the name. */ -}}
{{- define "batch.digest" -}}
{{- toJson . | sha256sum | trunc 8 -}}
{{- end -}}

{{- /* What no values file may ask for; each message names the remedy. */ -}}
{{- define "batch.check" -}}
{{- with .Values -}}
{{- if and (ne .workers.kind "None") (not .queue.address.secretName) -}}
{{- fail "workers do not know their queue: set queue.address.secretName to a Secret with its URL" -}}
{{- end -}}
{{- if and .autoscaling.enabled (ne .workers.kind "Deployment") -}}
{{- fail "autoscaling.enabled needs workers.kind=Deployment: a Job ends by itself" -}}
{{- end -}}
{{- if and .autoscaling.enabled (gt (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- $given := 0 -}}
{{- range list .submit.model .submit.in .submit.out -}}{{- if . -}}{{- $given = add1 $given -}}{{- end -}}{{- end -}}
{{- if and (ne (int $given) 0) (ne (int $given) 3) -}}
{{- fail "submit needs all three of submit.model, submit.in and submit.out" -}}
{{- end -}}
{{- if and $given (eq .workers.kind "Job") -}}
{{- fail "workers of a Job end when the queue is empty, which it is until the batch is in it: submit in a release of its own (workers.kind=None), wait until that is complete, then start the workers" -}}
{{- end -}}
{{- if and (not $given) (eq .workers.kind "None") -}}
{{- fail "workers.kind=None and no submit.model: there is nothing to run" -}}
{{- end -}}
{{- if and $given (not .submit.address.secretName) -}}
{{- fail "submit needs submit.address.secretName: a Secret with the queue's URL for a user who may publish" -}}
{{- end -}}
{{- end -}}
{{- end -}}
