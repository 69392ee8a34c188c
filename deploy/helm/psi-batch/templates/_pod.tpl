{{- /* The part of a pod that workers and submitters share. */ -}}
{{- define "batch.pod" -}}
serviceAccountName: {{ include "batch.serviceAccount" . }}
automountServiceAccountToken: {{ .Values.serviceAccount.automountToken }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: 1Gi}
  {{- with .Values.queue }}
  {{- range $name, $from := dict "queue-creds" .credentials "queue-ca" .ca "queue-tls" .certificate }}
  {{- if $from.secretName }}
  - name: {{ $name }}
    secret: {secretName: {{ $from.secretName | quote }}, defaultMode: 0440}
  {{- end }}
  {{- end }}
  {{- end }}
  {{- range $i, $v := .Values.volumes }}
  - name: volume-{{ $i }}
    persistentVolumeClaim: {claimName: {{ $v.claimName | quote }}, readOnly: {{ $v.readOnly | default false }}}
  {{- end }}
{{- end -}}

{{- define "batch.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- with .Values.queue }}
  {{- range $name, $from := dict "queue-creds" .credentials "queue-ca" .ca "queue-tls" .certificate }}
  {{- if $from.secretName }}
  - {name: {{ $name }}, mountPath: /etc/psi/{{ $name }}, readOnly: true}
  {{- end }}
  {{- end }}
  {{- end }}
  {{- range $i, $v := .Values.volumes }}
  - {name: volume-{{ $i }}, mountPath: {{ $v.mountPath | quote }}, readOnly: {{ $v.readOnly | default false }}}
  {{- end }}
{{- end -}}

{{- /* How the queue is reached; its address is in the environment. */ -}}
{{- define "batch.queueArgs" -}}
{{- with .Values.queue }}
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
