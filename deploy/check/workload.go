package main

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// workload is what makes pods.
type workload struct {
	kind, name string
	template   *corev1.PodTemplateSpec
	replicas   *int32
}

func (w workload) String() string { return w.kind + " " + w.name }

type workloadList []workload

func workloads(objects []runtime.Object) workloadList {
	var all workloadList
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			all = append(all, workload{"Deployment", o.Name, &o.Spec.Template, o.Spec.Replicas})
		case *batchv1.Job:
			all = append(all, workload{"Job", o.Name, &o.Spec.Template, nil})
		}
	}
	return all
}

// listen tells whether a container declares a port.
func (l workloadList) listen(port *intstr.IntOrString) bool {
	for _, w := range l {
		for _, c := range w.template.Spec.Containers {
			for _, p := range c.Ports {
				if p.Name == port.StrVal && port.Type == intstr.String || p.ContainerPort == port.IntVal && port.Type == intstr.Int {
					return true
				}
			}
		}
	}
	return false
}

// scalable sees that a scaler has a Deployment, and the number of its pods for itself.
func (l workloadList) scalable(scaler, name string) error {
	i := slices.IndexFunc(l, func(w workload) bool { return w.kind == "Deployment" && w.name == name })
	switch {
	case i < 0:
		return fmt.Errorf("%s scales %s, which is not there", scaler, name)
	case l[i].replicas != nil:
		return fmt.Errorf("%s fixes its replicas, and an autoscaler changes them", l[i])
	}
	return nil
}
