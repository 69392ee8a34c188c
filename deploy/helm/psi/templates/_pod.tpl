{{- /* What all pods share. Each mode defines its own "MODE.secrets", "MODE.volumes" and "MODE.mounts". */ -}}
{{- define "psi.podMetadata" -}}
labels:
  {{- include "psi.labels" .root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- with .root.Values.podLabels }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with .root.Values.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "psi.podSpec" -}}
serviceAccountName: {{ include "psi.serviceAccount" . }}
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
  {{- with include (printf "%s.volumes" .Values.mode) . | trim }}{{ . | nindent 2 }}{{ end }}
{{- end -}}

{{- define "psi.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "psi.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {{- include "psi.containerSecurity" . | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- with include (printf "%s.mounts" .Values.mode) . | trim }}{{ . | nindent 2 }}{{ end }}
{{- end -}}

{{- /* Whole directories are mounted: Kubernetes updates those when a Secret changes, but not files mounted one by one. */ -}}
{{- define "psi.secretVolumes" -}}
{{- range include (printf "%s.secrets" .Values.mode) . | fromYamlArray }}
{{- if .secretName }}
- name: {{ .name }}
  secret: {secretName: {{ .secretName | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}
{{- end -}}

{{- define "psi.secretMounts" -}}
{{- range include (printf "%s.secrets" .Values.mode) . | fromYamlArray }}
{{- if .secretName }}
- {name: {{ .name }}, mountPath: /etc/psi/{{ .name }}, readOnly: true}
{{- end }}
{{- end }}
{{- end -}}
