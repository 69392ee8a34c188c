{{- /* The queue. Its address is in the environment. */ -}}
{{- define "batch.queueArgs" -}}
{{- with .Values.batch.queue }}
{{- if .credentials.secretName }}
- {{ printf "--queue-creds=/etc/psi/queue-creds/%s" .credentials.key | quote }}
{{- end }}
{{- if .ca.secretName }}
- {{ printf "--queue-ca=/etc/psi/queue-ca/%s" .ca.key | quote }}
{{- end }}
{{- if .certificate.secretName }}
- --queue-cert=/etc/psi/queue-tls/tls.crt
- --queue-key=/etc/psi/queue-tls/tls.key
{{- end }}
{{- end }}
{{- end -}}

{{- define "batch.secrets" -}}
- {name: queue-ca, secretName: {{ .Values.batch.queue.ca.secretName | quote }}}
- {name: queue-creds, secretName: {{ .Values.batch.queue.credentials.secretName | quote }}}
- {name: queue-tls, secretName: {{ .Values.batch.queue.certificate.secretName | quote }}}
{{- end -}}

{{- define "batch.mounts" -}}
{{- include "psi.secretMounts" . }}
{{- range $i, $v := .Values.batch.volumes }}
- {name: volume-{{ $i }}, mountPath: {{ $v.mountPath | quote }}, readOnly: {{ $v.readOnly | default false }}}
{{- end }}
{{- end -}}

{{- define "batch.volumes" -}}
{{- include "psi.secretVolumes" . }}
{{- range $i, $v := .Values.batch.volumes }}
- name: volume-{{ $i }}
  persistentVolumeClaim: {claimName: {{ $v.claimName | quote }}, readOnly: {{ $v.readOnly | default false }}}
{{- end }}
{{- end -}}
